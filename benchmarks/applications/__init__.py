"""What a page of an application costs, beside the sum of its operations and beside the naive model of the same data."""
