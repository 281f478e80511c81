"""AWS's module names of machine learning transforms over Penstock; a façade without its own logic."""
