"""Search over orders: networks of low cost, without a proof."""
