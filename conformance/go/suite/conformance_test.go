// Package suite makes the official tests a program of their own: go test -c.
package suite

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/pkg/features"
)

var (
	channel      = flag.String("channel", "standard", "Channel of the CRDs: features of a wider one are not asked for.")
	also         = flag.String("also", "", "Features, separated by commas, that are asked for whatever their channel is.")
	notSupported = flag.String("not-supported", "", "Features, separated by commas, that are not asked for.")
)

// TestConformance asks for every feature that the suite knows for Gateways, but for those that are named.
func TestConformance(t *testing.T) {
	options := conformance.DefaultOptions(t)
	options.SupportedFeatures = supported(*channel, strings.Split(*also, ","), strings.Split(*notSupported, ","))
	// The suite writes its report before parallel tests have begun, and counts them as passed.
	for number := range tests.ConformanceTests {
		tests.ConformanceTests[number].Parallel = false
	}
	conformance.RunConformanceWithOptions(t, options)
}

func supported(channel string, with, without []string) []features.FeatureName {
	var names []features.FeatureName
	for feature := range features.AllFeatures {
		narrow := channel == "standard" && feature.Channel != features.FeatureChannelStandard &&
			!slices.Contains(with, string(feature.Name))
		ofMesh := features.MeshCoreFeatures.Has(feature) || features.MeshExtendedFeatures.Has(feature)
		if !narrow && !ofMesh && !slices.Contains(without, string(feature.Name)) {
			names = append(names, feature.Name)
		}
	}
	slices.Sort(names)
	return names
}
