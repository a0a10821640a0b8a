package dev.sluice.spring.boot;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Text;
import dev.sluice.rules.RuleErrors;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.source.FileRules;
import dev.sluice.rules.source.LayeredRules;
import dev.sluice.spring.SluiceProperties;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.env.Environment;
import org.springframework.core.io.Resource;
import org.springframework.core.io.ResourceLoader;
import org.springframework.util.ResourceUtils;

/** Combines the rules of a file, of properties and of {@code RuleSource} beans. */
final class RuleSettings {
  private static final Logger LOG = LoggerFactory.getLogger(RuleSettings.class);

  private RuleSettings() {}

  static RuleLayers layers(
      SluiceProperties properties,
      List<RuleSource> beans,
      ResourceLoader loader,
      Environment environment) {
    List<RuleSource> layers = new ArrayList<>();
    String file = properties.rulesFile();
    if (file != null) {
      layers.add(file(file, loader));
    }
    if (!properties.rules().isEmpty() || !properties.facets().isEmpty()) {
      layers.add(fixed(InlineRules.of(properties, environment)));
    }
    layers.addAll(beans);
    return new RuleLayers(layers.size() == 1 ? layers.get(0) : together(layers));
  }

  private static RuleSource together(List<RuleSource> layers) {
    try {
      return LayeredRules.open(layers.toArray(new RuleSource[0]));
    } catch (IllegalArgumentException unfit) {
      throw StartFailure.of(
          List.of(String.valueOf(unfit.getMessage())),
          "Correct the rules: those of sluice.rules-file, of sluice.rules.* and of RuleSource beans"
              + " do not fit together.",
          unfit);
    }
  }

  /** Rules that never change; logs their warnings, which other sources do by themselves. */
  private static RuleSource fixed(Rules rules) {
    rules.warnings().forEach(LOG::warn);
    return RuleSource.fixed(rules);
  }

  private static RuleSource file(String location, ResourceLoader loader) {
    try {
      String place = ResourceUtils.isUrl(location) ? location : "file:" + location;
      Resource resource = loader.getResource(place);
      if (resource.isFile()) {
        return FileRules.watch(resource.getFile().toPath());
      }
      try (InputStream in = resource.getInputStream()) {
        return fixed(RuleFiles.parse(location, in.readNBytes(RuleFiles.LARGEST_BYTES + 1)));
      }
    } catch (RuleErrors errors) {
      throw StartFailure.of(
          errors.problems().stream().map(RuleErrors.Problem::toString).toList(),
          "Correct the file, or name another in sluice.rules-file.",
          errors);
    } catch (IOException e) {
      throw StartFailure.ofProperty(
          "sluice.rules-file: %s cannot be read: %s (expected: a path or classpath:name)"
              .formatted(Text.quoted(location), e.getMessage()),
          e);
    }
  }
}
