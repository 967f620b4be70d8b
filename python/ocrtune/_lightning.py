"""Trainer(callbacks=[ocrtune.LightningCallback()])"""
try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from ocrtune._steps import batch_size, step


class LightningCallback(Callback):
    """Each batch of fit() and predict() is a step. `samples`: of a batch, where its first tensor's
    first dimension does not say it."""

    def __init__(self, samples=None):
        self._samples = samples

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        step(batch_size(batch) if self._samples is None else self._samples)

    def on_predict_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        step(batch_size(batch) if self._samples is None else self._samples)
