/** A new data source, which can be tested before it is stored. */
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useChange } from "../../api/query";
import { useTexts } from "../../i18n";
import { Actions, Button, Dialog } from "../../ui/controls";
import { Form } from "../../ui/form";
import { Failure } from "../../ui/page";
import { Members, useShown } from "./Members";
import { Tested } from "./Tested";
import { TEXTS } from "./texts";
import { BadOptions, bodyOf, NEW, type Values } from "./values";

const whole = (values: Values) => bodyOf(values, null) as Schemas["CreateDatasource"];

export function NewDatasource({ onClose }: { onClose: () => void }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const navigate = useNavigate();
  const [values, setValues] = useState(NEW);
  const test = useMutation({
    mutationFn: async (tested: Values) => data<Schemas["DatasourceTest"]>(api.POST("/api/v1/datasources/test", { body: whole(tested) })),
  });
  const save = useChange(async (wanted: Values) => data(api.POST("/api/v1/datasources", { body: whole(wanted) })), [["datasources"]]);
  // What was found is about what was tested.
  const tested = test.variables === values ? test : null;
  const error = save.error ?? tested?.error;
  const change = (next: Values) => {
    // What was wrong is about the former kind.
    if (next.kind !== values.kind) save.reset();
    setValues(next);
  };
  const shown = useShown(values, false);
  const submit = () => {
    save.mutate(values, { onSuccess: ({ id }) => void navigate({ to: `/datasources/${id}` }) });
  };
  const isReady = values.name.trim() !== "" && values.kind !== "" && !test.isPending && !save.isPending;
  return (
    <Dialog title={t.add} isOpen isBusy={save.isPending} onClose={onClose}>
      <Form onSubmit={submit} isBusy={save.isPending}>
        <Members values={values} onChange={change} error={error} isStored={false}
          badOptions={error instanceof BadOptions ? t.badOptions(error.message) : undefined} />
        {tested?.data && <Tested test={tested.data} />}
        {!(error instanceof BadOptions) && <Failure error={error} shown={shown} />}
        <Actions>
          <Button isDisabled={save.isPending} onPress={onClose}>{t.cancel}</Button>
          {may("testNewDatasource") && (
            <Button icon="run" isBusy={test.isPending} isDisabled={!isReady} onPress={() => {
              save.reset();
              test.mutate(values);
            }}>{t.test}</Button>
          )}
          <Button type="submit" kind="primary" isBusy={save.isPending} isDisabled={!isReady}>{tested?.data ? t.save : t.saveUntested}</Button>
        </Actions>
      </Form>
    </Dialog>
  );
}
