import { expect, it } from "vitest";
import { taskResultFrom } from "../../../../src/provider/tasks/task-result.ts";
import { parseJSON } from "../../../../src/provider/wire/json.ts";
import { fieldsOf, identifier } from "../../../../src/provider/wire/lenient.ts";

it.each([
  ["9007199254740993"],
  ["1234567890123456789"],
  ["123456789012345678901234567890"],
  ["-9007199254740993"],
  [`1${"0".repeat(400)}`],
])("a task ID in digits that a double cannot hold keeps each of them: %s", (digits) => {
  expect(identifier(fieldsOf(parseJSON(`{"task_id": ${digits}}`)), "task_id", 512)).toBe(digits);
  expect(taskResultFrom(parseJSON(`{"task":{"task_id":${digits},"status":"S"}}`)).task.taskID).toBe(digits);
});

it("every other value is as JSON.parse reads it", () => {
  const text = '{"a":[9007199254740991,1.5,1e3,-0,true,null,"x: 9007199254740993"],"b":{"c":123456789012345.25}}';
  expect(parseJSON(text)).toEqual(JSON.parse(text));
  expect(() => parseJSON('{"a":9007199254740993')).toThrow(SyntaxError);
});

it("an integer that is the whole text, as an element of a page is, keeps its digits too", () => {
  expect(parseJSON("-9007199254740993")).toBe("-9007199254740993");
});
