{{ config(materialized='incremental', incremental_strategy='append', format='orc') }}
select flight, carrier from {{ ref('months') }}
where {% if is_incremental() %} flight > 3 {% else %} month = 2 {% endif %}
