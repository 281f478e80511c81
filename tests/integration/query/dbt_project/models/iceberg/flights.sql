{{ config(table_type='iceberg', partitioned_by=['month']) }}
select flight, carrier, delay, month
from (
    values (1, 'UA', 5.0, 1), (2, 'AA', -3.0, 1), (3, 'DL', 0.5, 2), (4, 'UA', 12.0, 2)
) as t (flight, carrier, delay, month)
