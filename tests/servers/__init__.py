"""Several servers on one PostgreSQL and one lake, behind a balancer, while they are killed, stopped and restarted."""
