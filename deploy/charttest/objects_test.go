package charttest

import (
	"fmt"
	"path"
	"strings"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	security "k8s.io/pod-security-admission/api"
	standards "k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// The parts that the chart uses of what is not Kubernetes' own.
type (
	certificate struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata"`
		Spec            struct {
			SecretName string                             `json:"secretName"`
			IssuerRef  struct{ Name, Kind, Group string } `json:"issuerRef"`
			PrivateKey struct {
				Algorithm      string `json:"algorithm"`
				RotationPolicy string `json:"rotationPolicy"`
			} `json:"privateKey"`
			Usages   []string `json:"usages"`
			DNSNames []string `json:"dnsNames"`
		} `json:"spec"`
	}
	prometheusRule struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata"`
		Spec            struct {
			Groups []struct {
				Name  string
				Rules []struct {
					Alert, Expr, For    string
					Labels, Annotations map[string]string
				}
			}
		} `json:"spec"`
	}
	serviceMonitor struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata"`
		Spec            struct {
			Selector  meta.LabelSelector `json:"selector"`
			Endpoints []struct {
				Port, Scheme, Path, Interval string
				TLSConfig                    map[string]any `json:"tlsConfig"`
			} `json:"endpoints"`
		} `json:"spec"`
	}
)

// A rendering is what a chart came to; what is not in it is nil.
type rendering struct {
	config      *core.ConfigMap
	deployment  *apps.Deployment
	job         *batch.Job
	secret      *core.Secret
	service     *core.Service
	account     *core.ServiceAccount
	scaler      *autoscaling.HorizontalPodAutoscaler
	ingress     *networking.Ingress
	budget      *policy.PodDisruptionBudget
	network     *networking.NetworkPolicy
	certificate *certificate
	monitor     *serviceMonitor
	rules       *prometheusRule
	dashboards  *core.ConfigMap
	all         []meta.Object
}

var strict = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// decode reads documents into the types of Kubernetes, and takes no field that is not there.
func decode(documents []string) (*rendering, error) {
	r := &rendering{}
	for _, text := range documents {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, text)
		}
		var err error
		switch gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind).String(); gvk {
		case "cert-manager.io/v1, Kind=Certificate":
			r.certificate = &certificate{}
			err = yaml.UnmarshalStrict([]byte(text), r.certificate)
			r.all = append(r.all, r.certificate)
		case "monitoring.coreos.com/v1, Kind=ServiceMonitor":
			r.monitor = &serviceMonitor{}
			err = yaml.UnmarshalStrict([]byte(text), r.monitor)
			r.all = append(r.all, r.monitor)
		case "monitoring.coreos.com/v1, Kind=PrometheusRule":
			r.rules = &prometheusRule{}
			err = yaml.UnmarshalStrict([]byte(text), r.rules)
			r.all = append(r.all, r.rules)
		default:
			var object runtime.Object
			if object, _, err = strict.Decode([]byte(text), nil, nil); err == nil {
				r.add(object)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, text)
		}
	}
	return r, nil
}

func (r *rendering) add(object runtime.Object) {
	switch o := object.(type) {
	case *core.ConfigMap:
		if strings.HasSuffix(o.Name, "-dashboards") {
			r.dashboards = o
		} else {
			r.config = o
		}
	case *apps.Deployment:
		r.deployment = o
	case *batch.Job:
		r.job = o
	case *core.Secret:
		r.secret = o
	case *core.Service:
		r.service = o
	case *core.ServiceAccount:
		r.account = o
	case *autoscaling.HorizontalPodAutoscaler:
		r.scaler = o
	case *networking.Ingress:
		r.ingress = o
	case *policy.PodDisruptionBudget:
		r.budget = o
	case *networking.NetworkPolicy:
		r.network = o
	}
	r.all = append(r.all, object.(meta.Object))
}

func (r *rendering) configuration() string { return r.config.Data["randflaked.yaml"] }

// problems returns what does not fit together.
func (r *rendering) problems() (found []string) {
	wrong := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for _, o := range r.all {
		for _, problem := range validation.IsDNS1123Subdomain(o.GetName()) {
			wrong("name %s: %s", o.GetName(), problem)
		}
		for _, err := range metavalidation.ValidateLabels(o.GetLabels(), field.NewPath(o.GetName(), "labels")) {
			wrong("%v", err)
		}
		if o.GetNamespace() != "prod" {
			wrong("%s is in namespace %q", o.GetName(), o.GetNamespace())
		}
	}
	template := r.deployment.Spec.Template
	for _, err := range metavalidation.ValidateLabels(template.Labels, field.NewPath("pod", "labels")) {
		wrong("%v", err)
	}
	if s := r.scaler; (s != nil) != (r.deployment.Spec.Replicas == nil) || s != nil && s.Spec.ScaleTargetRef.Name != r.deployment.Name {
		wrong("want either replicas or a HorizontalPodAutoscaler of the Deployment")
	}
	r.selectors(wrong)
	r.ports(wrong)
	r.files(wrong)
	pod, c := template.Spec, template.Spec.Containers[0]
	if pod.ServiceAccountName != "default" && (r.account == nil || r.account.Name != pod.ServiceAccountName) {
		wrong("no service account %s", pod.ServiceAccountName)
	}
	if grace, pause := *pod.TerminationGracePeriodSeconds, c.Lifecycle.PreStop.Sleep.Seconds; grace < pause+10 {
		wrong("%d seconds to end, with a pause of %d", grace, pause)
	}
	if limit, e := c.Resources.Limits.Memory(), append(c.Env, core.EnvVar{})[0]; !limit.IsZero() && (e.Name != "GOMEMLIMIT" || e.ValueFrom.ResourceFieldRef.Resource != "limits.memory") {
		wrong("Go does not know the limit of memory, %s", limit)
	}
	if p := c.StartupProbe; p.PeriodSeconds*p.FailureThreshold <= 11*60 || p.HTTPGet.Path != "/readyz" {
		wrong("the startup probe does not wait for a first lease: %+v", p)
	}
	if c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" {
		wrong("one space that can't serve takes the others out")
	}
	if !*c.SecurityContext.ReadOnlyRootFilesystem {
		wrong("the root file system can be written")
	}
	if rolling := r.deployment.Spec.Strategy.RollingUpdate; rolling.MaxUnavailable.IntValue() != 0 || rolling.MaxSurge.IntValue() != 1 {
		wrong("an update takes pods away before there are others: %+v", rolling)
	}
	return append(found, r.insecure()...)
}

// selectors checks that everything that selects pods, or the Service, does.
func (r *rendering) selectors(wrong func(string, ...any)) {
	template := r.deployment.Spec.Template
	selects := func(what string, s *meta.LabelSelector, on map[string]string) {
		if selector, err := meta.LabelSelectorAsSelector(s); err != nil || selector.Empty() || !selector.Matches(labels.Set(on)) {
			wrong("%s selects %v, of which there are none: %v", what, s, err)
		}
	}
	selects("Deployment", r.deployment.Spec.Selector, template.Labels)
	selects("Service", &meta.LabelSelector{MatchLabels: r.service.Spec.Selector}, template.Labels)
	for _, spread := range template.Spec.TopologySpreadConstraints {
		selects("topologySpreadConstraint", spread.LabelSelector, template.Labels)
	}
	if r.budget != nil {
		selects("PodDisruptionBudget", r.budget.Spec.Selector, template.Labels)
	}
	if r.network != nil {
		selects("NetworkPolicy", &r.network.Spec.PodSelector, template.Labels)
	}
	if r.monitor != nil {
		selects("ServiceMonitor", &r.monitor.Spec.Selector, r.service.Labels)
	}
}

// ports checks that all ports are there by their names.
func (r *rendering) ports(wrong func(string, ...any)) {
	c := r.deployment.Spec.Template.Spec.Containers[0]
	open := map[string]int32{}
	for _, p := range c.Ports {
		open[p.Name] = p.ContainerPort
	}
	known := func(what string, port intstr.IntOrString) {
		if open[port.StrVal] == 0 {
			wrong("%s: no port of the container is named %q", what, port.String())
		}
	}
	for _, probe := range []*core.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		known("probe", probe.HTTPGet.Port)
		if !strings.EqualFold(string(probe.HTTPGet.Scheme), probe.HTTPGet.Port.StrVal) {
			wrong("a probe asks %s by %s", probe.HTTPGet.Port.StrVal, probe.HTTPGet.Scheme)
		}
	}
	served := map[string]bool{}
	for _, p := range r.service.Spec.Ports {
		known("Service", p.TargetPort)
		served[p.Name] = true
	}
	if r.network != nil {
		for _, p := range r.network.Spec.Ingress[0].Ports {
			known("NetworkPolicy", *p.Port)
		}
	}
	if r.ingress != nil {
		if to := r.ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service; to.Name != r.service.Name || !served[to.Port.Name] {
			wrong("Ingress: no port %q of a Service %s", to.Port.Name, to.Name)
		}
	}
	if r.monitor != nil && !served[r.monitor.Spec.Endpoints[0].Port] {
		wrong("ServiceMonitor: no port of the Service is named %q", r.monitor.Spec.Endpoints[0].Port)
	}
	var config struct{ Listen string }
	if err := yaml.Unmarshal([]byte(r.configuration()), &config); err != nil || len(open) != 1 || config.Listen != fmt.Sprintf(":%d", c.Ports[0].ContainerPort) {
		wrong("it listens at %s, and the container's ports are %v: %v", config.Listen, open, err)
	}
}

// files checks that volumes are mounted, and that all files that the configuration names are in them.
func (r *rendering) files(wrong func(string, ...any)) {
	pod := r.deployment.Spec.Template.Spec
	c := pod.Containers[0]
	volumes, mounts := map[string]core.Volume{}, map[string]string{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v
	}
	for _, m := range c.VolumeMounts {
		if v, ok := volumes[m.Name]; !ok || !m.ReadOnly && v.PersistentVolumeClaim == nil || mounts[m.MountPath] != "" {
			wrong("%s: there is no volume %s, it can be written, or something is there already", m.MountPath, m.Name)
		}
		mounts[m.MountPath] = m.Name
	}
	if len(mounts) != len(volumes) {
		wrong("%d volumes, and %d of them mounted", len(volumes), len(mounts))
	}
	if pod.AutomountServiceAccountToken != nil && *pod.AutomountServiceAccountToken {
		mounts["/var/run/secrets/kubernetes.io/serviceaccount"] = "the cluster's"
	}
	if v := volumes[mounts[path.Dir(c.Args[1])]]; v.ConfigMap == nil || v.ConfigMap.Name != r.config.Name || r.config.Data[path.Base(c.Args[1])] == "" {
		wrong("%s is not the ConfigMap's", c.Args[1])
	}
	if r.certificate != nil && volumes["tls"].Secret.SecretName != r.certificate.Spec.SecretName {
		wrong("no certificate for Secret %s", volumes["tls"].Secret.SecretName)
	}
	for word := range strings.FieldsSeq(strings.ReplaceAll(r.configuration(), "://", "")) {
		if file := strings.Trim(word, `"'`); strings.HasPrefix(file, "/") && mounts[path.Dir(file)] == "" {
			wrong("%s is not mounted", file)
		}
	}
}

// insecure returns what Kubernetes' standard for restricted pods does not allow.
func (r *rendering) insecure() (found []string) {
	templates := []core.PodTemplateSpec{r.deployment.Spec.Template}
	if r.job != nil {
		templates = append(templates, r.job.Spec.Template)
	}
	evaluator, err := standards.NewEvaluator(standards.DefaultChecks(), nil)
	if err != nil {
		return []string{err.Error()}
	}
	for _, template := range templates {
		level := security.LevelVersion{Level: security.LevelRestricted, Version: security.LatestVersion()}
		result := standards.AggregateCheckResults(evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec))
		if !result.Allowed {
			found = append(found, result.ForbiddenDetail())
		}
	}
	return found
}
