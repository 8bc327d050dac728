"""The life of a job: its states, the next step, what an observation means, what it cost."""
