FROM python:3.11-slim

# bubblewrap confines the agent's shell commands; it needs user namespaces, see deploy/README.md.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap util-linux \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 agentsite \
    && install --directory --owner agentsite --group agentsite --mode 700 /data

WORKDIR /app
COPY requirements.txt constraints.txt ./
RUN pip install --no-cache-dir --requirement requirements.txt --constraint constraints.txt

COPY manage.py ./
COPY agentsite agentsite
COPY chat chat
COPY static static
COPY templates templates

USER agentsite
ENV DATA_DIR=/data BIND=0.0.0.0 PORT=8000 PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD \
    ["python", "-c", "import os, urllib.request as u; u.urlopen(u.Request(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', headers={'Host': 'localhost'}), timeout=4)"]
CMD ["python", "manage.py", "serve"]
