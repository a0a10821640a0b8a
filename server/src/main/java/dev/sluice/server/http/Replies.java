package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import dev.sluice.http.HttpAnswer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** JSON answers, and the one form in which anything is refused. */
public final class Replies {
  public static final MediaType PROBLEM = MediaType.parse(HttpAnswer.PROBLEM_TYPE);

  /** No body has names or numbers as long as these; strings have bounds of their own. */
  static final JsonFactory JSON =
      JsonFactory.builder()
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(10)
                  .maxNameLength(1_000)
                  .maxNumberLength(100)
                  .build())
          .build();

  /** The largest answer to a request that is refused, in bytes. */
  public static final int LARGEST_PROBLEM = 64 * 1024;

  /** All errors together: each character may take six bytes, and is in the answer twice. */
  private static final int MOST_ERROR_CHARACTERS = LARGEST_PROBLEM / 13;

  private static final int LONGEST_ERROR = 1_000;

  /** Writes members into an object that is already open. */
  @FunctionalInterface
  public interface Body {
    void write(JsonGenerator json) throws IOException;
  }

  private Replies() {}

  public static HttpResponse ok(Body body) {
    return json(HttpStatus.OK, MediaType.JSON, body);
  }

  public static HttpResponse json(HttpStatus status, MediaType type, Body body) {
    byte[] bytes = bytes(body);
    ResponseHeaders headers =
        ResponseHeaders.builder(status)
            .contentType(type)
            .contentLength(bytes.length) // otherwise Armeria copies the headers to add it
            .add(HttpHeaderNames.CACHE_CONTROL, "no-store")
            .build();
    return HttpResponse.of(headers, HttpData.wrap(bytes));
  }

  /** A refusal with everything that is wrong, as far as it fits. */
  public static HttpResponse problem(HttpStatus status, List<String> errors) {
    return json(status, PROBLEM, json -> writeProblem(json, status, errors));
  }

  public static HttpResponse problem(HttpStatus status, String error) {
    return problem(status, List.of(error));
  }

  public static byte[] problemBytes(HttpStatus status, List<String> errors) {
    return bytes(json -> writeProblem(json, status, errors));
  }

  private static void writeProblem(JsonGenerator json, HttpStatus status, List<String> errors)
      throws IOException {
    List<String> shown = shown(errors);
    json.writeStringField("type", "about:blank");
    json.writeStringField("title", status.reasonPhrase());
    json.writeNumberField("status", status.code());
    json.writeStringField("detail", String.join("; ", shown));
    json.writeArrayFieldStart("errors");
    for (String error : shown) {
      json.writeString(error);
    }
    json.writeEndArray();
  }

  /** Errors that fit into an answer, however many there are. */
  private static List<String> shown(List<String> errors) {
    List<String> shown = new ArrayList<>();
    int left = MOST_ERROR_CHARACTERS;
    for (String error : errors) {
      String cut = cut(error);
      left -= cut.length() + 2;
      if (left < 0) {
        shown.add("and %,d more".formatted(errors.size() - shown.size()));
        break;
      }
      shown.add(cut);
    }
    return shown;
  }

  private static String cut(String error) {
    if (error.length() <= LONGEST_ERROR) {
      return error;
    }
    boolean splits = Character.isHighSurrogate(error.charAt(LONGEST_ERROR - 1));
    return error.substring(0, splits ? LONGEST_ERROR - 1 : LONGEST_ERROR) + "…";
  }

  /** An object as text. */
  public static String text(Body body) {
    return new String(bytes(body), StandardCharsets.UTF_8);
  }

  /** An array as text; the body writes its elements. */
  public static String arrayText(Body body) {
    byte[] bytes =
        written(
            json -> {
              json.writeStartArray();
              body.write(json);
              json.writeEndArray();
            });
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static byte[] bytes(Body body) {
    return written(
        json -> {
          json.writeStartObject();
          body.write(json);
          json.writeEndObject();
        });
  }

  private static byte[] written(Body body) {
    try (ByteArrayBuilder buffer = new ByteArrayBuilder(512);
        JsonGenerator json = JSON.createGenerator(buffer)) {
      body.write(json);
      json.flush();
      return buffer.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot fail to be written", e);
    }
  }
}
