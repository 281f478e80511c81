"""What happens to decoded rows before they are staged: masks, steps, expectations, state between batches."""
