/** What the list can be narrowed to, at its side: the values that there are, with the number of tables of each. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { datasourcesQuery } from "../../api/datasources";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { type Facet, FACETS, type Filters } from "./filters";
import { TEXTS } from "./texts";

interface Choice {
  value: string;
  label: string;
  count: number | undefined;
}

export function Facets({ filters, chosen }: { filters: Filters; chosen: Record<Facet, string> }) {
  const t = useTexts(TEXTS);
  const { set } = useAddress();
  const { sortField: _, sortOrder: __, ...query } = filters;
  const facets = useQuery({
    queryKey: ["tables", "facets", query],
    queryFn: ({ signal }) => data<Schemas["TableFacets"]>(api.GET("/api/v1/tables/facets", { params: { query }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  }).data;
  const sources = useQuery(datasourcesQuery).data ?? [];
  const facet = (name: Facet, title: string, labelOf = (value: string) => value) => {
    const found = facets?.[FACETS[name]];
    const choices = (found?.values ?? []).map(({ value, count }) => ({ value, label: labelOf(value), count }));
    return (
      <FacetOf key={name} title={title} choices={choices} value={chosen[name]} labelOf={labelOf}
        // A data source is typed by no name; they are few.
        isOpen={found !== undefined && found.total > found.values.length && name !== "source"}
        onChange={(value) => set({ [name]: value }, true)} />
    );
  };
  const drift = facets?.hasDrift.values.find(({ value }) => value === "true");
  return (
    <>
      {facet("source", t.source, (value) => sources.find((source) => String(source.id) === value)?.name ?? value)}
      {facet("layer", t.layer)}
      {facet("owner", t.owner)}
      {facet("domain", t.businessDomain)}
      {facet("data", t.dataDomain)}
      {facet("tag", t.tag)}
      {(drift !== undefined || chosen.drift !== "") && (
        <FacetOf title={t.drift} choices={[{ value: "1", label: t.hasDrift, count: drift?.count }]} value={chosen.drift}
          onChange={(value) => set({ drift: value }, true)} />
      )}
    </>
  );
}

/** As many values are shown before the reader asks for all. */
const SHORT = 8;

function FacetOf({ title, choices, value, labelOf = (one) => one, isOpen, onChange }: {
  title: string; choices: Choice[]; value: string; labelOf?: (value: string) => string;
  /** There are values that are not offered. */
  isOpen?: boolean; onChange: (value: string) => void;
}) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const [isAll, setAll] = useState(false);
  const [typed, setTyped] = useState("");
  const known = choices.some((choice) => choice.value === value);
  const offered = value !== "" && !known ? [{ value, label: labelOf(value), count: undefined }, ...choices] : choices;
  if (offered.length === 0 && !isOpen) return null;
  const shown = isAll ? offered : offered.filter((choice, place) => place < SHORT || choice.value === value);
  const submit = () => {
    if (typed.trim() !== "") onChange(typed.trim());
    setTyped("");
  };
  return (
    <section className="tables-facet">
      <h2>{title}</h2>
      <ul>
        {shown.map((choice) => (
          <li key={choice.value}>
            <button type="button" aria-pressed={choice.value === value} onClick={() => onChange(choice.value === value ? "" : choice.value)}>
              <span>{marked(choice.label)}</span>
              <span className="tables-count">
                {choice.count !== undefined && <span className="small">{format.number(choice.count)}</span>}
                {choice.value === value && <Icon name="close" />}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {offered.length > SHORT && (
        <Button kind="quiet" onPress={() => setAll(!isAll)}>{isAll ? t.fewer : t.showAll(format.number(offered.length))}</Button>
      )}
      {isOpen && (
        <Form onSubmit={submit}>
          <TextField label={t.otherValue(title)} isLabelHidden placeholder={t.otherValuePlaceholder} value={typed} onChange={setTyped} />
        </Form>
      )}
    </section>
  );
}
