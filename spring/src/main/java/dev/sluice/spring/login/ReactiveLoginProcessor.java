package dev.sluice.spring.login;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.security.authentication.ReactiveAuthenticationManager;
import org.springframework.security.config.ObjectPostProcessor;

/** Guards managers that are beans, and the one that Spring Security makes if there is none. */
final class ReactiveLoginProcessor implements BeanPostProcessor {
  /** Spring Security's own bean of this name is the last to see the manager that it makes. */
  private static final String OF_MANAGERS = "reactiveAuthenticationManagerPostProcessor";

  private final ReactiveLogins logins;

  ReactiveLoginProcessor(ReactiveLogins logins) {
    this.logins = logins;
  }

  @Override
  public Object postProcessAfterInitialization(Object bean, String name) {
    if (bean instanceof ReactiveAuthenticationManager) {
      return logins.guardedBean(bean);
    }
    return name.equals(OF_MANAGERS) && bean instanceof ObjectPostProcessor<?> processor
        ? new Guarding(processor, logins)
        : bean;
  }

  /** What Spring Security does to a manager, and a guard around it. */
  private record Guarding(ObjectPostProcessor<?> processor, ReactiveLogins logins)
      implements ObjectPostProcessor<ReactiveAuthenticationManager> {
    @Override
    @SuppressWarnings("unchecked") // the bean of this name is for managers
    public <O extends ReactiveAuthenticationManager> O postProcess(O manager) {
      ReactiveAuthenticationManager processed =
          ((ObjectPostProcessor<ReactiveAuthenticationManager>) processor).postProcess(manager);
      return (O) logins.guarded(processed);
    }
  }
}
