package dev.sluice.spring.login;

import java.lang.reflect.Modifier;
import java.util.Arrays;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.security.core.Authentication;

/** Wraps an authentication manager in a guard; the proxy keeps its type for injection. */
final class Managers {
  private Managers() {}

  static Object guarded(Object manager, MethodInterceptor guard) {
    boolean done =
        manager instanceof Advised proxy
            && Arrays.stream(proxy.getAdvisors()).anyMatch(each -> each.getAdvice() == guard);
    if (done) {
      return manager;
    }
    ProxyFactory proxy = new ProxyFactory(manager);
    proxy.setProxyTargetClass(!Modifier.isFinal(manager.getClass().getModifiers()));
    proxy.addAdvice(guard);
    return proxy.getProxy(manager.getClass().getClassLoader());
  }

  /** The login that a call on a manager is to check; null if the call is another one. */
  static @Nullable Authentication login(MethodInvocation call) {
    return call.getMethod().getName().equals("authenticate")
            && call.getArguments().length == 1
            && call.getArguments()[0] instanceof Authentication login
        ? login
        : null;
  }
}
