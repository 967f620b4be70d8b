"""paddle.Model.fit(callbacks=[ocrtune.PaddleCallback()])"""
import paddle

from ocrtune._steps import step


class PaddleCallback(paddle.callbacks.Callback):
    """Each batch of Model.fit() is a step."""

    def on_train_batch_end(self, step_index, logs=None):
        # Paddle gives the samples of all ranks; each rank reports its own.
        step(logs["batch_size"] // paddle.distributed.ParallelEnv().nranks)
