"""AWS's module names of Glue Data Quality over Penstock; a façade without its own logic."""
