"""The seam around untrusted code: each candidate runs in its own walled-in process."""
