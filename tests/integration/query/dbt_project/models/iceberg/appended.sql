{{ config(materialized='incremental', table_type='iceberg', incremental_strategy='append') }}
select flight, carrier from {{ ref('flights') }}
{% if is_incremental() %} where flight > 3 {% endif %}
