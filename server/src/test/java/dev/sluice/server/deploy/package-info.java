/** Tests of what is deployed: the archive, the image, the chart, the unit, a rolling upgrade. */
package dev.sluice.server.deploy;
