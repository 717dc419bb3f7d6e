"""Calls of a model: where each was asked, and what it cost."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class ModelCall(models.Model):
    """What every call of a model leaves behind; tokens are the endpoint's own count unless `estimated`.

    `cost` is in `currency`, by the prices that were set when the call was made; None where there were none.
    """

    endpoint = models.CharField(max_length=500, blank=True)
    model = models.CharField(max_length=200, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    reasoning_tokens = models.PositiveIntegerField(default=0)
    estimated = models.BooleanField(default=False)
    cost = models.DecimalField(max_digits=16, decimal_places=8, null=True)
    currency = models.CharField(max_length=3, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
