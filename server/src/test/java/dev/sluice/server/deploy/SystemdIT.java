package dev.sluice.server.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.Program;
import dev.sluice.testing.Needs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The unit for systemd, checked by systemd itself. */
@Tag("release")
@Needs({"systemd-analyze", "bash", "tar"})
class SystemdIT {
  @TempDir private Path directory;

  /** The unit, with the archive where this test unpacked it. */
  private String verify(String unit) throws Exception {
    Path home = Archive.unpack(directory.resolve("opt"));
    Path file = directory.resolve("sluice.service");
    Files.writeString(file, unit.replace("/opt/sluice", home.toString()));
    try (Program verify =
        Program.start(directory, List.of("systemd-analyze", "verify", "--man=no", "" + file))) {
      return verify.await(60) + " " + verify.printed();
    }
  }

  @Test
  void systemdAcceptsTheUnit() throws Exception {
    String unit = Files.readString(Archive.root().resolve("deploy/systemd/sluice.service"));

    assertThat(verify(unit)).isEqualTo("0 ");
    assertThat(verify(unit.replace("ProtectSystem=strict", "ProtectSystem=streng")))
        .contains("streng");
    assertThat(unit).contains("DynamicUser=yes", "NoNewPrivileges=yes", "CapabilityBoundingSet=\n");
  }
}
