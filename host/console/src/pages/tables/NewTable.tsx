/** A new table: its definition in the catalogue. Fields and the physical table follow on its page. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { datasourcesQuery, isBuiltIn } from "../../api/datasources";
import { useChange } from "../../api/query";
import { useTexts } from "../../i18n";
import { Actions, Button, Dialog, Select, TextArea, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { errorOf, Failure } from "../../ui/page";
import { orNull, splitTags } from "./api";
import { DORIS_MEMBERS, DorisMembers, type DorisTexts, dorisBody, NO_DORIS } from "./DorisMembers";
import { TEXTS } from "./texts";

const NO_SOURCE = "none";
/** The members whose field says what is wrong with it. */
const SHOWN = ["clusterId", "dbName", "tableName", "tableComment", "layer", "owner", "tags"];

export function NewTable({ source, onClose }: { source: string; onClose: () => void }) {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const sources = useQuery(datasourcesQuery).data?.filter((one) => !isBuiltIn(one)) ?? [];
  const [chosen, setChosen] = useState(source);
  const used = sources.find((one) => String(one.id) === chosen) ?? (chosen === "" ? sources.find((one) => one.isDefault) : undefined);
  const [typedDatabase, setDatabase] = useState<string | null>(null);
  const [values, setValues] = useState({ tableName: "", tableComment: "", layer: "", owner: "", tags: "" });
  const [doris, setDoris] = useState<DorisTexts>(NO_DORIS);
  const databases = useQuery({
    queryKey: ["datasources", used?.id, "databases"],
    queryFn: () => data(api.GET("/api/v1/datasources/{id}/databases", { params: { path: { id: used!.id } } })),
    enabled: used !== undefined,
    staleTime: 60_000,
  }).data;
  const database = typedDatabase ?? (databases?.some((one) => one.name === used?.database) ? used!.database! : databases?.[0]?.name ?? "");
  const create = useChange(
    (body: Schemas["CreateTable"]) => data(api.POST("/api/v1/tables", { body })),
    [["tables"]],
  );
  const put = (member: keyof typeof values) => (value: string) => setValues({ ...values, [member]: value });
  const field = (member: keyof typeof values, label: string) => (
    <TextField label={label} value={values[member]} onChange={put(member)} error={errorOf(create.error, member)} />
  );
  const submit = () => {
    const body: Schemas["CreateTable"] = {
      tableName: values.tableName.trim(), dbName: database.trim(), clusterId: used?.id ?? null,
      tableComment: orNull(values.tableComment), layer: orNull(values.layer), owner: orNull(values.owner), tags: splitTags(values.tags),
      ...(used?.kind === "doris" ? dorisBody(doris) : {}),
    };
    create.mutate(body, { onSuccess: (table) => void navigate({ to: `/tables/${table.id}` }) });
  };
  return (
    <Dialog title={t.newTable} isOpen isBusy={create.isPending} onClose={onClose}>
      <Form onSubmit={submit} isBusy={create.isPending}>
        <p className="small">{t.newTableLead}</p>
        <Select label={t.source} value={used ? String(used.id) : NO_SOURCE} error={errorOf(create.error, "clusterId")}
          onChange={(value) => { setChosen(value); setDatabase(null); }}
          choices={[...sources.map((one) => ({ value: String(one.id), label: `${one.name} (${one.kind})` })), { value: NO_SOURCE, label: t.noSourceYet }]} />
        {databases && databases.length > 0 ? (
          <Select label={t.database} value={database} onChange={setDatabase} error={errorOf(create.error, "dbName")}
            choices={databases.map((one) => ({ value: one.name, label: one.name }))} />
        ) : (
          <TextField label={t.database} value={database} onChange={setDatabase} hint={t.databaseHint} isRequired error={errorOf(create.error, "dbName")} />
        )}
        <TextField label={t.tableName} value={values.tableName} onChange={put("tableName")} isRequired autoFocus error={errorOf(create.error, "tableName")} />
        <TextArea label={t.comment} value={values.tableComment} onChange={put("tableComment")} rows={2} error={errorOf(create.error, "tableComment")} />
        <div className="columns tables-pair">
          {field("layer", t.layer)}
          {field("owner", t.owner)}
        </div>
        <TextField label={t.tags} value={values.tags} onChange={put("tags")} hint={t.tagsHint} error={errorOf(create.error, "tags")} />
        {used?.kind === "doris" && <DorisMembers values={doris} onChange={setDoris} error={create.error} />}
        <Failure error={create.error} shown={[...SHOWN, ...(used?.kind === "doris" ? DORIS_MEMBERS : [])]} />
        <Actions>
          <Button isDisabled={create.isPending} onPress={onClose}>{t.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={create.isPending} isDisabled={values.tableName.trim() === "" || database.trim() === ""}>{t.create}</Button>
        </Actions>
      </Form>
    </Dialog>
  );
}
