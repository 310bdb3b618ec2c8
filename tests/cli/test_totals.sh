# Totals of a job and its energy label.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/mlp.profile.json # batch 256

expect_ok predict "$p" --gpu v100-pcie-32gb --epochs 3 --dataset-size 1000 --country de
shows '^All 12 steps: .* \(.* to .*\), .*Wh \(.* to .*\), .* CO2e$'
shows 'Energy is that of the GPU boards; 3000 samples'
shows 'Grid: 344 g CO2e/kWh, Germany, average of 2024 \(Our World in Data as quoted by the ADEPT thesis\)$'
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000 --country DE
mv "$work/out" "$work/by_country"
for words in "--carbon DE" "--carbon-intensity DE"; do # as attribute has it
    expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000 $words
    cmp -s "$work/out" "$work/by_country" || fail "$words is another place than --country DE"
done
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000 --carbon 56
shows ' 56(\.0)? g CO2e/kWh'
mv "$work/out" "$work/by_number"
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000 --carbon DE --carbon 56 # the last counts
cmp -s "$work/out" "$work/by_number" || fail 'a zone before a number of --carbon stays'
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000 --carbon 56 --country DE
shows ' 56(\.0)? g CO2e/kWh'
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000 --country US --price average
shows ', cost [0-9.e-]+ USD$'
shows 'Grid: 384 g CO2e/kWh, United States, average of 2024 \(Our World in Data as quoted by the ADEPT thesis\)$'
shows 'Price: 0.148 USD/kWh, United States, average of 2025 \(GlobalPetrolPrices.com for businesses as quoted by the ADEPT thesis\)$'
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000 --country FI --price average --json
for line in carbon_intensity_year.*2024 'carbon_intensity".*as quoted by the ADEPT thesis' price_year.*2025 'price".*as quoted by the ADEPT thesis' currency.*USD; do
    shows "\"$line"
done
# what was emitted when the boards were made stands apart: 150 kg over 4 years of 8766 h, of so many GPU hours
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000000 --gpus 2 --embodied 150 --board-lifetime 4 --json
"${PYTHON:-python3}" - "$work/out" <<'EOF' || fail 'embodied emissions'
import json, sys
p = json.load(open(sys.argv[1]))
t = p["total"]
assert abs(t["embodied_co2e_g"] / (150e3 * t["gpu_hours"] / (4 * 8766)) - 1) < 1e-12 and t["co2e_g"] is None, t
assert abs(p["flops_per_j"] / (p["flops"]["total"] / p["energy_step_j"]) - 1) < 1e-12, p["flops_per_j"]
EOF
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000000 --embodied 150 --board-lifetime 4
shows 'Embodied: [0-9.]+ k?g CO2e of making the boards'
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000000 --embodied 150 --board-lifetime 4 --pue 1.25 --label "$work/made.md"
shows 'PUE: 1.25 \(given\), DCiE 80.0 %$'
cp "$work/made.md" "$work/out"
shows "^\\| embodied, the job's share of its boards \\| .* g CO2e \\|$"
shows '^\| PUE \| 1.25 \(given\), DCiE 80.0 % \|$'
shows 'making the boards \(given apart\) and the rest of the hardware\.$'
expect_error 2 'need each other' predict "$p" --gpu v100-pcie-32gb --steps 10 --embodied 150
expect_error 2 'embodied needs --steps' predict "$p" --gpu v100-pcie-32gb --embodied 150 --board-lifetime 4
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000 --country AE
shows 'Grid: 561.1 g CO2e/kWh, United Arab Emirates, average of 2022 \(Our World in Data of Ember and the Energy Institute as stored by carbontracker\)$'
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000 --country EU
shows 'Grid: 240 g CO2e/kWh, European Union, average of 2023 \(unsourced: entered from memory\)$'
expect_error 2 'price average: there is no price of France, only of US, DE, IT, JP, CH, FI$' predict "$p" --gpu a100 --steps 1 --country FR --price average
expect_error 2 'price average needs --country' predict "$p" --gpu a100 --steps 1 --price average
expect_error 2 'price needs --steps' predict "$p" --gpu a100 --price average
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1
shows '^The 1 step: '
expect_ok predict "$p" --gpu v100-pcie-32gb --steps 7 --pue average --host-power 300
shows 'Site: .*, with the hosts and its PUE'
shows 'PUE: 1.56 \(unsourced: .* Uptime Institute'
expect_error 2 'exclude each other' predict "$p" --gpu a100 --steps 1 --samples 1
expect_error 2 'exclude each other' predict "$p" --gpu a100 --steps 1 --epochs 1 --dataset-size 2

expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000000 --country SE --pue 1.2 --price 0.3 --label "$work/label.md"
cp "$work/label.md" "$work/out"
shows '^## Energy and emissions \(predicted, not measured\)$'
shows '^\| hardware \| 1 x v100-pcie-32gb \|$'
shows '^\| emissions \| .* g CO2e \(80.0 % interval: .* to .*\) \|$'
shows '^\| grid \| 40.7 g CO2e/kWh, Sweden, average of 2023 \(Our World in Data of .* as stored by carbontracker\) \|$'
shows '^\| method \| adept [0-9.]*, granularity operator; calibrated on'
shows 'Left out: the hosts'
checks=$((checks + 1))
awk -F'|' '/^\|/ && NF != 4 { bad = 1 } END { exit bad }' "$work/label.md" || fail 'a row of the label is torn'

expect_ok predict "$p" --gpu v100-pcie-32gb --gpus 2 --steps 1000000 --country SE --pue 1.2 --price 0.3 --label "$work/label.json" --json
if command -v python3 >/dev/null 2>&1; then
    checks=$((checks + 1))
    python3 - "$work/out" "$work/label.json" >"$work/err" 2>&1 <<'END' || fail 'the totals in the JSON, or the label'
import json, sys
p, l = (json.load(open(f)) for f in sys.argv[1:])
t = p["total"]
near = lambda a, b: abs(a - b) <= 1e-12 * abs(b)
assert near(t["time_s"], 1e6 * p["step_time_s"]) and near(t["hours"], t["time_s"] / 3600) and near(t["gpu_hours"], 2 * t["hours"])
assert near(t["energy_kwh"], 1e6 * p["energy_step_j"] / 3.6e6) and near(t["site_energy_kwh"], 1.2 * t["energy_kwh"])
assert near(t["co2e_g"], 40.7 * t["site_energy_kwh"]) and near(t["cost"], 0.3 * t["site_energy_kwh"])
assert t["samples"] == 2 * 256 * 1e6 and t["epochs"] is None and t["host_energy_kwh"] is None
i = t["interval"]
assert i["level"] == p["interval"]["level"] and near(i["time_s"][1], 1e6 * p["interval"]["step_time_s"][1])
for key in ("energy_kwh", "co2e_g"):
    assert i[key][0] < t[key] < i[key][1]
assert t["sources"]["place"] == "Sweden" and t["sources"]["carbon_intensity_year"] == 2023 and t["sources"]["pue"] == "given"
e = l["co2_eq_emissions"]
assert e["emissions"] == t["co2e_g"] and e["geographical_location"] == "Sweden" and e["hardware_used"] == "2 x v100-pcie-32gb"
assert "predicted, not measured" in e["source"] and l["statement"] == "predicted, not measured" and l["schema_version"] == 1
assert l["step_time_s"] == p["step_time_s"] and l["total"]["energy_kwh"] == t["energy_kwh"] and l["interval"]["co2e_g"] == i["co2e_g"]
assert l["calibrated"] is True and "cooling and losses" in l["scope"]
END
fi

# for a bill of materials: the members that the specifications ask for (tests/consumer/check_labels.sh has their whole schemas)
if command -v python3 >/dev/null 2>&1; then
    for mode in train infer; do
        for form in cdx spdx; do
            expect_ok predict "$p" --gpu v100-pcie-32gb --mode $mode --steps 1000000 --country SE --pue 1.2 --label "$work/$mode.$form.json" --json
        done
        cp "$work/out" "$work/$mode.out"
    done
    checks=$((checks + 1))
    python3 - "$work" >"$work/err" 2>&1 <<'END' || fail 'a label for a bill of materials'
import json, re, sys
for mode, activity in (("train", "training"), ("infer", "inference")):
    p, cdx, spdx = (json.load(open("%s/%s.%s" % (sys.argv[1], mode, end))) for end in ("out", "cdx.json", "spdx.json"))
    kwh, co2e_g = p["total"]["site_energy_kwh"], p["total"]["co2e_g"]
    # CycloneDX 1.6: bom, component, energyConsumption, energyProvider, energyMeasure, co2Measure
    assert (cdx["bomFormat"], cdx["specVersion"], cdx["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch("urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", cdx["serialNumber"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", cdx["metadata"]["timestamp"])
    component, = cdx["components"]
    assert component["type"] == "machine-learning-model" and component["name"] == "mlp.pt"
    use, = component["modelCard"]["considerations"]["environmentalConsiderations"]["energyConsumptions"]
    assert set(use) == {"activity", "energyProviders", "activityEnergyCost", "co2CostEquivalent"} and use["activity"] == activity
    assert use["activityEnergyCost"] == {"value": kwh, "unit": "kWh"}
    assert use["co2CostEquivalent"]["unit"] == "tCO2eq" and abs(use["co2CostEquivalent"]["value"] * 1e6 / co2e_g - 1) < 1e-12
    provider, = use["energyProviders"]
    assert set(provider) == {"description", "organization", "energySource", "energyProvided"} and provider["description"].startswith("40.7 g CO2e/kWh, Sweden, average of 2023 (Our World in Data")
    assert provider["energySource"] == "unknown" and provider["energyProvided"] == use["activityEnergyCost"]
    # SPDX 3.0.1: CreationInfo, AIPackage, EnergyConsumption, EnergyConsumptionDescription, SpdxDocument
    assert spdx["@context"] == "https://spdx.org/rdf/3.0.1/spdx-context.jsonld"
    of = {element["type"]: element for element in spdx["@graph"]}
    creation, package, document = of["CreationInfo"], of["ai_AIPackage"], of["SpdxDocument"]
    assert creation["specVersion"] == "3.0.1" and creation["createdBy"] == [of["SoftwareAgent"]["spdxId"]]
    assert all(e["creationInfo"] == creation["@id"] for e in spdx["@graph"] if e is not creation)
    assert package["ai_energyConsumption"] == {"type": "ai_EnergyConsumption", "ai_%sEnergyConsumption" % activity: [
        {"type": "ai_EnergyConsumptionDescription", "ai_energyQuantity": kwh, "ai_energyUnit": "kilowattHour"}]}
    assert document["rootElement"] == [package["spdxId"]] and package["spdxId"] in document["element"]
    assert len({e["spdxId"] for e in spdx["@graph"] if "spdxId" in e}) == 3
    for remarks in (component["description"], package["comment"]):
        assert remarks.startswith("Energy predicted, not measured, by adept") and "interval" in remarks and "Left out" in remarks
END
fi

# what nobody read is called so in the label
for form in md json cdx.json spdx.json; do
    expect_ok predict "$p" --gpu v100-pcie-32gb --steps 1000 --country WORLD --pue average --label "$work/memory.$form"
    checks=$((checks + 1))
    grep -q 'unsourced: entered from memory' "$work/memory.$form" || fail "the label $form calls nothing unsourced"
done

# what cannot be known: null or "unknown", never 0
expect_ok predict "$p" --gpu cpu-xeon-avx512-1core --steps 10 --country FR --label "$work/unknown.md"
cp "$work/unknown.md" "$work/out"
shows '^\| emissions \| unknown \|$'
expect_error 2 'must state an energy' predict "$p" --gpu cpu-xeon-avx512-1core --steps 10 --label "$work/unknown.cdx.json"
expect_error 2 'must state an energy' predict "$p" --gpu cpu-xeon-avx512-1core --steps 10 --label "$work/unknown.spdx.json"
# what does not fit has no best limits, and its label says that it cannot start; no label says in which folder a model is
for end in md json cdx.json spdx.json; do
    expect_ok predict "$p" --gpu v100-pcie-32gb --batch 9000000 --steps 10 --country FR --label "$work/large.$end"
    checks=$((checks + 2))
    grep -Eq 'DOES NOT FIT: the step needs|"fits":[[:space:]]*false' "$work/large.$end" || fail "large.$end does not say that it does not fit"
    grep -q 'Best power limits' "$work/out" && fail 'best limits of what cannot start'
    run predict "$p" --gpu v100-pcie-32gb --steps 10 --country FR --label "$work/small.$end"
    grep -q 'NOT FIT\|"fits":[[:space:]]*false' "$work/small.$end" && fail "small.$end does not fit"
    sed 's/"mlp\.pt"/"\/home\/me\/secret\/mlp.pt"/' "$p" >"$work/moved.json"
    run predict "$work/moved.json" --gpu v100-pcie-32gb --steps 10 --country FR --label "$work/moved-label.$end"
    [ "$rc" -eq 0 ] && grep -q 'mlp\.pt' "$work/moved-label.$end" || fail "moved-label.$end does not name its model"
    grep -q '/secret\|/home' "$work/moved-label.$end" && fail "moved-label.$end shows a folder"
done
expect_ok predict "$p" --gpu v100-pcie-32gb --batch 9000000 --json
shows '"power_limits":[[:space:]]*null'
shows 'power_limits are unknown: the step does not fit the memory of v100-pcie-32gb'

# a label is written whole or not at all
expect_error 1 'missing/l.md' predict "$p" --gpu a100 --steps 1 --label "$work/missing/l.md"
mkdir "$work/dir.md"
expect_error 1 'dir.md' predict "$p" --gpu a100 --steps 1 --label "$work/dir.md"
checks=$((checks + 1))
[ -z "$(find "$work" -name '*.md?*' -o -name '*.json?*')" ] || fail 'a temporary file is left'
# a model's name stays a name
sed 's/^file .*/file a|b<i>.pt/' "$data/mlp.graph" >"$work/evil.graph"
"$ADEPT_MAKE_PROFILE" "$work/evil.graph" >"$work/evil.json"
expect_ok predict "$work/evil.json" --gpu a100 --steps 1 --label "$work/evil.md"
cp "$work/evil.md" "$work/out"
shows '^\| model \| a\\\|b&lt;i>\.pt \|$'
finish
