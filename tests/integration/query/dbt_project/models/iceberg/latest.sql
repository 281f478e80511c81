{{ config(materialized='incremental', table_type='iceberg', incremental_strategy='merge', unique_key='carrier') }}
select carrier, cast(max(flight) {% if is_incremental() %} + 100 {% endif %} as integer) as flight
from {{ ref('flights') }}
{% if is_incremental() %} where carrier <> 'AA' {% endif %}
group by carrier
