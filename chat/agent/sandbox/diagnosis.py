"""Why bubblewrap did not run: its error, its cause, and the cure."""

from __future__ import annotations

_CAUSES = [
    (
        (
            "No permissions to create new namespace",
            "unshare: unshare failed",
            "Creating new namespace failed: Operation",
        ),
        "This system does not let ordinary users make namespaces (a container's seccomp profile, or a "
        "sysctl): run the container with a profile that allows user namespaces (as podman does), or set "
        "kernel.unprivileged_userns_clone=1.",
    ),
    (
        ("max_*_namespaces exceeded", "No space left on device"),
        "The number of user namespaces is used up or set to zero: raise the sysctl user.max_user_namespaces.",
    ),
    (
        ("RTM_NEWADDR", "setting up uid map"),
        "AppArmor keeps bubblewrap from using user namespaces: install the distribution's profile for it "
        "(Ubuntu: apparmor-profiles, bwrap-userns-restrict), or set "
        "kernel.apparmor_restrict_unprivileged_userns=0.",
    ),
    (
        ("Can't mount proc",),
        "The container hides parts of /proc, so that no new one can be mounted: start it with "
        "--security-opt systempaths=unconfined.",
    ),
    (
        ("Failed to make / slave", "mount: ", "Failed to mount"),
        "The container or AppArmor forbids mounts: start it with --security-opt apparmor=unconfined "
        "and a seccomp profile that allows user namespaces.",
    ),
    (
        ("Can't find source path", "Permission denied"),
        "The workspace lies beneath a folder that the sandbox's user cannot enter: give its parents "
        "mode 0711 (chmod 711), or move DATA_DIR.",
    ),
    (
        ("Unknown option",),
        "bubblewrap is older than 0.8.0: update it.",
    ),
    (
        ("setresuid failed", "setgroups failed", "setresgid failed"),
        "Root may not become an ordinary user here (a container with a single user): start the server as an "
        "ordinary user.",
    ),
]


class SandboxError(Exception):
    """The sandbox itself could not run; the message names the cause and, where it is known, the cure."""


def explain(printed: str) -> str:
    """One sentence about what bubblewrap, or a program before it, printed when it could not run."""
    last = (printed.strip().splitlines() or ["it ended without a word"])[-1][:300]
    for signs, cure in _CAUSES:
        if any(sign in printed for sign in signs):
            return f"Commands cannot run in a sandbox here ({last}). {cure}"
    return f"Commands cannot run in a sandbox here: {last}."
