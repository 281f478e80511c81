"""AWS's module names over Penstock, so that programs written for them run unmodified; a façade without logic of its own."""
