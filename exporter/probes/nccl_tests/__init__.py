"""The site's own nccl-tests binaries: how they are called, and what they print in every layout since 2018."""
