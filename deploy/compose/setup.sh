#!/bin/sh
# Writes .env with fresh secrets beside this file, readable for its owner only. One that is there
# is left alone.
set -eu
cd "$(dirname "$0")"
if [ -e .env ]; then
    echo ".env is there already"
    exit 0
fi
random_text() { openssl rand -base64 32 | tr '+/' '-_' | tr -d '=\n'; }
umask 077
cat > .env <<END
POSTGRES_PASSWORD=$(openssl rand -hex 24)
REDIS_PASSWORD=$(openssl rand -hex 24)
GRAFANA_PASSWORD=$(openssl rand -hex 12)
INFERFLOW_MANAGER_SECRET=$(openssl rand -hex 32)
INFERFLOW_ADMIN_KEY=ifk_$(openssl rand -hex 6)_$(random_text)
# Made by the manager: see README.md.
INFERFLOW_WORKER_KEY=
# Who is called when an alert fires, and when models should be retrained. Nobody when empty.
ALERT_WEBHOOK_URL=
RETRAIN_WEBHOOK_URL=
END
echo "wrote .env"
