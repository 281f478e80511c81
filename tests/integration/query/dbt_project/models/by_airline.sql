{{ config(materialized='view') }}
select a.name, count(*) as flights
from {{ ref('flights') }} f join {{ ref('airlines') }} a on a.carrier = f.carrier
group by a.name
