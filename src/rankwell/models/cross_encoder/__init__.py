"""Cross-encoders: one transformer reads query and document together."""
