"""The boards, one module each."""
