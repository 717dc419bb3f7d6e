"""Dates and numbers in Chinese; numbers are grouped as in English."""

DATE_FORMAT = SHORT_DATE_FORMAT = "Y年n月j日"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "Y年n月j日 H:i"
SHORT_DATETIME_FORMAT = "n月j日 H:i"  # of this year
MONTH_DAY_FORMAT = "n月j日"
THOUSAND_SEPARATOR = ","
NUMBER_GROUPING = 3
