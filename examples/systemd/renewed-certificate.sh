#!/bin/sh
# Writes a certificate and its key as a Secret, where txingress reads manifests; it is shown from then on.
#
#   renewed-certificate.sh NAMESPACE NAME FULLCHAIN.PEM KEY.PEM DIRECTORY
#
# For certbot: a file of two lines in /etc/letsencrypt/renewal-hooks/deploy/, which certbot runs with RENEWED_LINEAGE:
#
#   #!/bin/sh
#   exec /opt/txingress/renewed-certificate.sh shop shop-tls "$RENEWED_LINEAGE/fullchain.pem" "$RENEWED_LINEAGE/privkey.pem" /etc/txingress/manifests
set -eu
if [ $# -ne 5 ]; then
    echo "usage: $0 NAMESPACE NAME FULLCHAIN.PEM KEY.PEM DIRECTORY" >&2
    exit 2
fi
namespace=$1 name=$2 chain=$3 key=$4 directory=$5
# Each by itself: a file that cannot be read ends this here.
chain=$(base64 < "$chain")
key=$(base64 < "$key")
# Readable for the group of the directory (chmod g+s), which is txingress, and nobody else.
umask 0027
# A name that is no manifest: only what is whole gets that of one.
draft=$(mktemp "$directory/.$namespace-$name.XXXXXX")
trap 'rm -f "$draft"' EXIT
chmod 0640 "$draft"
cat > "$draft" <<SECRET
apiVersion: v1
kind: Secret
metadata:
  name: $name
  namespace: $namespace
type: kubernetes.io/tls
data:
  tls.crt: $(echo "$chain" | tr -d '\n')
  tls.key: $(echo "$key" | tr -d '\n')
SECRET
mv "$draft" "$directory/secret-$namespace-$name.yaml"
