"""Trainer(callbacks=[ocrtune.TrainerCallback()])"""
import transformers

from ocrtune._steps import step


class TrainerCallback(transformers.TrainerCallback):
    """Each step of the optimizer is a step, of all batches that it accumulated."""

    def on_step_end(self, args, state, control, **_):
        step(args.train_batch_size * args.gradient_accumulation_steps)
