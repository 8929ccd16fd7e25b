"""What is kept cannot be read or written: models, features, configs, backups."""

from __future__ import annotations

from inferflow.errors.root import Fault, InferflowError


class RegistryConflict(InferflowError):
    """The registry is not as the call expects it to be. Nothing was changed; repeating the
    call does not help until somebody has looked."""

    fault = Fault.CALLER


class RegistryFailed(InferflowError):
    """The registry's database or model files could not be used. Nothing was half-applied."""


class RegistryBusy(InferflowError):
    """The registry's database is taken or away for the moment. Nothing was changed."""

    fault = Fault.BUSY


class StoreFailed(InferflowError):
    """The feature store could not answer or write. Nothing was half-applied."""


class StoreUnreachable(StoreFailed):
    """The feature store is away or does not answer. The same call may succeed a little later."""

    fault = Fault.BUSY


class ConfigStoreFailed(InferflowError):
    """The config store could not be read or written. No version was half-applied."""


class ConfigStoreBusy(InferflowError):
    """Another process is writing configs and takes long. Nothing was changed."""

    fault = Fault.BUSY


class BackupFailed(InferflowError):
    """A backup that could not be written, or not be put back. What was there before still is."""
