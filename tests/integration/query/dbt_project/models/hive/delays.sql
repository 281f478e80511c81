{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partitioned_by=['month']) }}
select carrier, sum(delay) as delay, count(*) as flights, month
from {{ ref('months') }}
{% if is_incremental() %} where month >= (select max(month) from {{ this }}) {% endif %}
group by carrier, month
