"""Programs that people start without an image: templates as data, and what they need built on demand."""
