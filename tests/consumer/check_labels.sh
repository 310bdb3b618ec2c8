#!/bin/sh
# Energy labels as bills of materials against the published JSON schemas of CycloneDX 1.6 and SPDX 3.0.1, which the npm package
# @cyclonedx/cdxgen carries; ajv validates. Needs node and npm's registry. usage: check_labels.sh ADEPT
set -eu
adept=$1
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0
label() { # FORMAT OPTION...
    n=$((n + 1))
    format=$1
    shift
    "$adept" predict "$@" --label "$work/$n.$format.json" >/dev/null
}
for format in cdx spdx; do
    label $format "$top/tests/cli/data/mlp.profile.json" --gpu v100-pcie-32gb --steps 1e6 --country SE --pue 1.2 --host-power 300
    label $format "$top/tests/cli/data/mlp.profile.json" --gpu v100-pcie-32gb --gpus 8 --samples 1 --mode infer
    label $format "$top/tests/cli/data/mlp.profile.json" --gpu a100 --epochs 3 --dataset-size 1000 --carbon-intensity 56
    label $format "$top/data/models/resnet50.pt" --gpu t4 --steps 10 # with a hash, where there is libtorch
done
cd "$work"
npm pack --silent @cyclonedx/cdxgen >/dev/null
tar xzf cyclonedx-cdxgen-*.tgz package/data
npm install --silent --no-save --no-fund --no-audit --prefix "$work" ajv ajv-formats ajv-formats-draft2019
cat >check.mjs <<'EOC'
import Ajv7 from "ajv";
import Ajv2020 from "ajv/dist/2020.js";
import formats from "ajv-formats";
import formats2019 from "ajv-formats-draft2019";
import fs from "fs";
const read = (path) => JSON.parse(fs.readFileSync(path, "utf8"));
const data = fs.readdirSync("package/data");
function validator(Ajv, file, others) {
  const ajv = new Ajv({ strict: false, validateFormats: true, allErrors: true });
  formats(ajv);
  formats2019(ajv);
  for (const other of others) ajv.addSchema(read("package/data/" + other), "http://cyclonedx.org/schema/" + other);
  return ajv.compile(read("package/data/" + file));
}
const check = {
  cdx: validator(Ajv7, "bom-1.6.schema.json", data.filter((f) => /^(spdx|jsf-.*|cryptography-defs)\.schema\.json$/.test(f))),
  spdx: validator(Ajv2020, "spdx-export.schema.json", []),
};
let bad = 0, good = 0;
for (const file of fs.readdirSync(".").filter((f) => /\.(cdx|spdx)\.json$/.test(f))) {
  const kind = file.split(".")[1], label = read(file);
  if (!check[kind](label)) { bad++; console.error(file, check[kind].errors.slice(0, 5)); continue; }
  // the schemas see energy that is none
  const torn = JSON.parse(JSON.stringify(label).replace(/"(kWh|kilowattHour)"/g, '"calories"'));
  if (check[kind](torn)) { bad++; console.error(file, "a wrong unit passes"); }
  good++;
}
console.log(`labels: ${good} valid, ${bad} not`);
process.exit(bad || good < 8 ? 1 : 0);
EOC
node check.mjs
