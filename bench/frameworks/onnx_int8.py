"""The recogniser of onnx_compare.py in 8-bit integers, as OpenVINO's and ONNX Runtime's own tools make it.

Both calibrate on the images that they are given, one line each, and round what their tools round unless told
otherwise: NNCF all that OpenVINO's kernels take, ONNX Runtime convolutions and matrix products, with a scale
for each channel of the weights. Needs nncf, and onnxruntime with sympy.
"""

import os
import tempfile

import nncf
import onnx
import openvino
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


def openvino_int8(path, images, made):
    model = openvino.Core().read_model(path)
    quantised = nncf.quantize(model, nncf.Dataset(images), subset_size=len(images))
    openvino.save_model(quantised, made, compress_to_fp16=False)


class Images(CalibrationDataReader):
    def __init__(self, name, images):
        self.feeds = iter([{name: image} for image in images])

    def get_next(self):
        return next(self.feeds, None)


def onnxruntime_int8(path, images, made):
    """With QuantizeLinear and DequantizeLinear nodes."""
    model = onnx.load(path)
    if model.opset_import[0].version < 13:  # the first with scales for each channel
        model = onnx.version_converter.convert_version(model, 13)
    with tempfile.TemporaryDirectory() as folder:
        newer, folded = os.path.join(folder, "13.onnx"), os.path.join(folder, "folded.onnx")
        onnx.save(model, newer)
        quant_pre_process(newer, folded, skip_symbolic_shape=True)
        quantize_static(folded, made, Images(model.graph.input[0].name, images), quant_format=QuantFormat.QDQ,
                        per_channel=True, op_types_to_quantize=["Conv", "MatMul"])
