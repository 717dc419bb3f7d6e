"""Dates and numbers in English: the day before the month, 24 hours."""

DATE_FORMAT = SHORT_DATE_FORMAT = "j M Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "j M Y, H:i"
SHORT_DATETIME_FORMAT = "j M, H:i"  # of this year
MONTH_DAY_FORMAT = "j M"
THOUSAND_SEPARATOR = ","
