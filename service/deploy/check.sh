#!/usr/bin/env bash
# Checks the unit, the alerts, the dashboards and the chart. After a change of the chart, check.sh -update writes the golden files.
# HELM, in the environment, is a helm: make helm builds one.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
fail() { echo "check.sh: $*" >&2; exit 1; }

# 15 of 100, which is no sandbox at all.
grep -qx LimitCORE=0 systemd/randflaked.service || fail "the unit lets the process dump its memory, with the secrets in it"
sed 's#/usr/local/bin/randflaked#/bin/true#' systemd/randflaked.service >"$work/randflaked.service"
systemd-analyze verify --man=no "$work/randflaked.service" 2>&1 | { ! grep randflaked.service; }
systemd-analyze security --no-pager --offline=yes --threshold=15 "$work/randflaked.service" >"$work/security" || fail "$(cat "$work/security")"

promtool check rules chart/alerts.yaml
promtool test rules alerts_test.yaml
alerts=$(sed -n 's/^ *- alert: //p' chart/alerts.yaml)
metrics=$(grep -ohE 'randflaked?_[a-z_]+' chart/alerts.yaml chart/dashboards/*.json | sed 's/_bucket$//' | sort -u)
[ -n "$alerts" ] || fail "no alerts found"
for alert in $alerts; do
	grep -q "alertname=\"$alert\"" alerts_test.yaml || fail "no test has $alert fire"
done
for metric in $metrics; do
	grep -q "\`$metric\`" ../../docs/operations.md || fail "docs/operations.md has no $metric, which alerts or dashboards use"
done

HELM=${HELM:-helm}
template() { "$HELM" template ids chart --kube-version 1.30 --namespace prod --values "chart/ci/$1-values.yaml" "${@:2}"; }

# Alerts and dashboards are files of the chart; here their names are enough.
for values in tls cert-manager; do
	template $values --set prometheusRule.enabled=false,dashboards.enabled=false >"$work/$values.yaml"
	[ "${1:-}" != -update ] || cp "$work/$values.yaml" "chart/ci/$values.golden"
	diff -u "chart/ci/$values.golden" "$work/$values.yaml" || fail "the chart makes something else of $values-values.yaml"
done
[ "$(template cert-manager | grep -cE '^ +(- alert:|(library|service)\.json:)')" = $(($(grep -c -- '- alert:' chart/alerts.yaml) + 2)) ] || fail "the chart lacks alerts or dashboards"

# Names that YAML reads as numbers or as an alias stay texts, and that of the Service has at most 63 bytes.
"$HELM" template 123 chart --kube-version 1.30 --namespace 2026 --values chart/ci/tls-values.yaml --set-string 'ingress.host=*.example.com,secrets={orders,shop,1}' \
	--set-string serviceAccount.name=1,ingress.className=1,ingress.secretName=1,image.pullSecrets[0]=1,tls.secretName=1,tls.clientCA.secretName=1,priorityClassName=1 >"$work/numbers.yaml"
! grep -nE '(name|Name|namespace|instance|host): ([0-9]+$|\*)' "$work/numbers.yaml" || fail "the chart does not quote these"
long=$(printf '%053d' 0 | tr 0 a)
"$HELM" template "$long" chart --kube-version 1.30 --values chart/ci/tls-values.yaml --show-only templates/service.yaml | grep -qE '^  name: .{1,63}$' || fail "a Service's name is too long"

go build -o "$work/randflaked" ../cmd/randflaked
for values in tls cert-manager plaintext; do
	"$HELM" lint --quiet --strict --kube-version 1.30 chart --values "chart/ci/$values-values.yaml"
	template $values --show-only templates/configmap.yaml | sed '1,/randflaked.yaml: |/d; s/^    //' >"$work/randflaked.yaml"
	"$work/randflaked" check --offline --config "$work/randflaked.yaml"
done

# Values that can't be meant are refused, with what to do.
while IFS='|' read -r set want; do
	! template tls --set "$set" >/dev/null 2>"$work/refusal" || fail "$set is not refused"
	grep -qF -- "$want" "$work/refusal" || fail "$set: $(cat "$work/refusal")"
	! grep -q ':word@' "$work/refusal" || fail "the refusal of $set has the password"
done <<'ROWS'
replicas=3|replicas
replicaCount=0|replicaCount
image.digest=abc|digest
config.listen=:1|listen
config.spaces[0].store=file:/var/lib/a|store
config.spaces[0].store=postgres://me:word@db/ids|config.spaces[0].store: it has a password
config.spaces[0].store=postgres://db/ids?password=word|config.spaces[0].store: it has a password
config.spaces[0].store=kubernetes:prod/ids|serviceAccount.automount
secrets={shop}|config.spaces[0].secretFile: /run/secrets/randflaked/orders/secret: want
plaintext=true|tls: want one of
tls.secretName=|tls: want one of
tls.secretName=,plaintext=true|tls.clientCA: nobody shows
podDisruptionBudget.maxUnavailable=0|maxUnavailable
ROWS
echo ok
