package dev.sluice.spring.actuator;

import dev.sluice.spring.call.Gate;
import dev.sluice.spring.peer.PeerSetup;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.context.annotation.Bean;

/** Prepares the web server that the actuator has for itself if it has a port of its own. */
@ManagementContextConfiguration(value = ManagementContextType.CHILD, proxyBeanMethods = false)
@ConditionalOnBean(Gate.class)
public class SluiceManagementConfiguration {
  @Bean
  PeerSetup sluicePeerSetup() {
    return new PeerSetup();
  }
}
