"""What `doctor` looks at: one file a part of the site, each of which says what it found."""
