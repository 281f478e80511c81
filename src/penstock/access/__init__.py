"""Who calls: access keys, principals and the signatures that prove them."""
