{{ config(format='parquet', partitioned_by=['month']) }}
select flight, carrier, delay, month from {{ ref('flights') }}
