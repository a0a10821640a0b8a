package dev.sluice.spring.login;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.security.authentication.ReactiveAuthenticationManager;
import org.springframework.security.config.ObjectPostProcessor;

/** Guards manager beans, and the manager that Spring Security creates if there is none. */
final class ReactiveLoginProcessor implements BeanPostProcessor {
  /** The bean of Spring Security that processes the manager it creates. */
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

  /** Processes a manager as Spring Security does, then wraps it in a guard. */
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
