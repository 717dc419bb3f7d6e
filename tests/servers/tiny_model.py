"""Writes a tiny llama model of random weights: `python tiny_model.py FILE`, where gguf is installed."""

import sys

import gguf
import numpy

WIDTH, INNER, HEADS, LAYERS, CONTEXT = 64, 128, 4, 2, 32768
TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def vocabulary(writer: gguf.GGUFWriter) -> int:
    """Bytes, and the letters that are seen; gives how many tokens there are."""
    tokens = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(256))]
    kinds = [2, 3, 3, *[6] * 256]
    letters = [chr(code).encode() for code in range(33, 127)] + ["\u2581".encode()]
    tokens += letters
    kinds += [1] * len(letters)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)
    return len(tokens)


def main(path: str) -> None:
    """Write the model."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_file_type(0)
    size = vocabulary(writer)
    writer.add_vocab_size(size)
    chance = numpy.random.default_rng(7)

    def weights(name: str, *shape: int) -> None:
        writer.add_tensor(name, chance.normal(0, 0.3, shape).astype(numpy.float32))

    weights("token_embd.weight", size, WIDTH)
    writer.add_tensor("output_norm.weight", numpy.ones(WIDTH, numpy.float32))
    weights("output.weight", size, WIDTH)
    for layer in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{norm}.weight", numpy.ones(WIDTH, numpy.float32))
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weights(f"blk.{layer}.{part}.weight", WIDTH, WIDTH)
        weights(f"blk.{layer}.ffn_gate.weight", INNER, WIDTH)
        weights(f"blk.{layer}.ffn_up.weight", INNER, WIDTH)
        weights(f"blk.{layer}.ffn_down.weight", WIDTH, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1])
