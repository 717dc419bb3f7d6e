"""How much a workspace may hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quota:
    """Bounds of a workspace: bytes on disk, and how many files and folders."""

    size: int = 500 * 1024 * 1024
    files: int = 20_000

    def refusal(self, folder: int, size: int = 0, new: int = 0) -> str:
        """Why `size` more bytes in `new` more files do not fit into the folder (a descriptor), or nothing.

        What a file holds that is about to be replaced counts until it is. For none more: whether there is too
        much already.
        """
        # Imported late: the sandbox, whose room the measure stands in, knows the workspace, which knows this.
        from chat.agent.sandbox.watch import usage

        used = usage(folder)
        if used.size + size > self.size:
            more = f"; {size / 2**20:.1f} MiB more do not fit" if size else ""
            return (
                f"The workspace holds {used.size / 2**20:.1f} MiB and may hold {self.size / 2**20:g}{more}. "
                "Delete what is not needed."
            )
        if used.files + new > self.files:
            return (
                f"The workspace holds {used.files} files and folders and may hold {self.files}. "
                "Delete what is not needed."
            )
        return ""
