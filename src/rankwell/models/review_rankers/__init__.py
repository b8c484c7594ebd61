"""The systematic-review study's four rankers: a head over the concatenated [CLS] vectors of one to three inputs."""
