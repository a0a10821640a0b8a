package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SchemaId;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SpecVersion;
import com.networknt.schema.ValidationMessage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.schema.CoreSchema;

/** The JSON schema for editors agrees with the parser where it can. */
class SchemaTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final JsonSchemaFactory FACTORY =
      JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012);
  private static final JsonSchema SCHEMA = FACTORY.getSchema(text());

  private static String text() {
    try {
      return Files.readString(Path.of("../docs/rules.schema.json"));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  static List<BadFiles.Bad> seenBySchema() {
    return BadFiles.all().stream().filter(BadFiles.Bad::seenBySchema).toList();
  }

  private static Set<ValidationMessage> validate(String yaml) {
    // As editors read YAML 1.2: with the core schema.
    LoadSettings settings = LoadSettings.builder().setSchema(new CoreSchema()).build();
    JsonNode node = JSON.valueToTree(new Load(settings).loadFromString(yaml));
    return SCHEMA.validate(node);
  }

  @Test
  void schemaIsAValidSchema() throws IOException {
    JsonSchema ofSchemas = FACTORY.getSchema(SchemaLocation.of(SchemaId.V202012));

    assertThat(ofSchemas.validate(JSON.readTree(text()))).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.rules.GoodFiles#all")
  void goodFileFits(String yaml) {
    assertThat(validate(yaml)).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("seenBySchema")
  void badFileDoesNotFit(BadFiles.Bad bad) {
    assertThat(validate(bad.text())).isNotEmpty();
  }

  @Test
  void mostBadFilesAreSeenByTheSchema() {
    assertThat(seenBySchema()).hasSizeGreaterThan(40);
  }
}
